/** The names of block devices: `/dev/sda` of `8:0`, as cadvisor reads them from sysfs. */
import { readFileSync } from 'node:fs';

/** Devices come and go: a full cache is emptied. */
const maxNames = 256;

export function createDeviceNames(): (device: string) => string {
  const names = new Map<string, string>();
  return (device) => {
    let name = names.get(device);
    if (name === undefined) {
      name = readDeviceName(device);
      if (names.size >= maxNames) names.clear();
      names.set(device, name);
    }
    return name;
  };
}

/** Returns an empty name for an unknown device, as cadvisor does. */
function readDeviceName(device: string): string {
  try {
    const name = /^DEVNAME=(.+)$/m.exec(readFileSync(`/sys/dev/block/${device}/uevent`, 'utf8'))?.[1];
    return name === undefined ? '' : `/dev/${name}`;
  } catch {
    return '';
  }
}
