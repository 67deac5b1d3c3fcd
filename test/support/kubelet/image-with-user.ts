/** Makes variants of the local busybox image that differ in the user that they declare, and imports them into a test's containerd. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { busyboxArchive } from '../../../lab/containerd/local-images.ts';
import type { TestNode } from './test-node.ts';

/** Returns the name of an image with this USER, such as `1000:2000`. */
export function importImageWithUser(node: TestNode, repository: string, user: string): string {
  const work = mkdtempSync(join(tmpdir(), 'image-with-user-'));
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    mkdirSync(join(work, 'layout'));
    run('tar', '-xf', busyboxArchive, '-C', 'layout');
    run('umoci', 'config', '--image', 'layout:1', `--config.user=${user}`);
    run('tar', '-C', 'layout', '-cf', 'image.tar', '.');
    const name = `local.example/${repository}`;
    node.containerd.ctr('images', 'import', '--base-name', name, join(work, 'image.tar'));
    return `${name}:1`;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
