"""Devices that programs run on."""
