"""NVIDIA's compute-sanitizer over a program's launches, recorded here and replayed in a process that it watches."""
