/** The folders of guests in the host's folder for temporary files. Each has the pid of its owner in its name. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'kubelet-guest-';

/** Also removes the folders of owners that were killed. Their guests ended with them. */
export function createGuestFolder(): string {
  for (const name of readdirSync(tmpdir())) {
    const pid = ownerOf(name);
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
  return mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
}

/** Returns undefined when it is not the name of a guest's folder. */
export function ownerOf(name: string): number | undefined {
  const match = /^kubelet-guest-(\d+)-\w{6}$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}
