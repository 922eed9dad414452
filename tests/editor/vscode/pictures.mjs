// The README's pictures, from those that the scenarios have left in build/editor: the same with 64 colours, a quarter of the size.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import zlib from 'node:zlib';

const root = path.resolve(import.meta.dirname, '../../..');
const NAMES = ['race', 'verdict', 'timeline'];
const COLOURS = 64;

const { chromium } = createRequire(path.join(root, '.cache/editor/package.json'))('playwright-core');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
});
try {
  const page = await browser.newPage();
  for (const name of NAMES) {
    const picture = await pixels(page, fs.readFileSync(path.join(root, 'build/editor', `${name}.png`)));
    const written = encoded(picture, palette(picture.data));
    fs.writeFileSync(path.join(root, 'docs/pictures', `${name}.png`), written);
    console.log(`docs/pictures/${name}.png: ${Math.round(written.length / 1000)} KB`);
  }
} finally {
  await browser.close();
}

/** Width, height and one number (0xRRGGBB) a pixel. */
async function pixels(page, png) {
  const { width, height, data } = await page.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    const { data: rgba } = canvas.getImageData(0, 0, image.width, image.height);
    let text = '';
    for (let at = 0; at < rgba.length; at += 4) {
      text += String.fromCharCode(rgba[at], rgba[at + 1], rgba[at + 2]);
    }
    return { width: image.width, height: image.height, data: btoa(text) };
  }, `data:image/png;base64,${png.toString('base64')}`);
  const bytes = Buffer.from(data, 'base64');
  return { width, height, data: Array.from({ length: width * height }, (_, at) => bytes.readUIntBE(3 * at, 3)) };
}

/** The colours to use, by median cut, and which of them stands for each colour of the picture. */
function palette(data) {
  const counts = new Map();
  data.forEach((colour) => counts.set(colour, (counts.get(colour) ?? 0) + 1));
  const channel = (colour, which) => (colour >> (16 - 8 * which)) & 255;
  const spread = (box) => [0, 1, 2].map((which) => {
    const values = box.map((colour) => channel(colour, which));
    return values.reduce((a, b) => Math.max(a, b)) - values.reduce((a, b) => Math.min(a, b));
  });
  const boxes = [[...counts.keys()]];
  while (boxes.length < COLOURS) {
    boxes.sort((a, b) => Math.max(...spread(a)) - Math.max(...spread(b)));
    const widest = boxes.pop();
    const spreads = spread(widest);
    const which = spreads.indexOf(Math.max(...spreads));
    if (spreads[which] === 0) {
      boxes.push(widest);
      break; // there are no more colours
    }
    const middle = widest.reduce((a, colour) => a + channel(colour, which), 0) / widest.length;
    boxes.push(widest.filter((c) => channel(c, which) <= middle), widest.filter((c) => channel(c, which) > middle));
  }
  // The most frequent colour stands for its box: areas keep theirs to the bit.
  const chosen = boxes.map((box) => box.reduce((a, b) => (counts.get(b) > counts.get(a) ? b : a)));
  return { chosen, index: new Map(boxes.flatMap((box, at) => box.map((colour) => [colour, at]))) };
}

/** A PNG with a palette. */
function encoded({ width, height, data }, { chosen, index }) {
  const rows = Buffer.alloc(height * (width + 1)); // each begins with its filter: none
  data.forEach((colour, at) => {
    rows[at + Math.floor(at / width) + 1] = index.get(colour);
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // eight bits a pixel, a palette
  const colours = Buffer.alloc(3 * chosen.length);
  chosen.forEach((colour, at) => colours.writeUIntBE(colour, 3 * at, 3));
  const parts = [['IHDR', header], ['PLTE', colours], ['IDAT', zlib.deflateSync(rows, { level: 9 })], ['IEND', Buffer.alloc(0)]];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts.map(([kind, body]) => chunk(kind, body))]);
}

function chunk(kind, body) {
  const named = Buffer.concat([Buffer.from(kind, 'latin1'), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(zlib.crc32(named));
  return Buffer.concat([length, named, sum]);
}
