/**
 * The daemon as a node has it: with a Node of its own. `dist/` of a checkout links to the Node that the benchmark runs too: pages that both map would hide
 * half of its code.
 */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from '../../lab/kubelet/build.ts';
import type { BenchContext } from './benchmark.ts';
import { kubeletPath, type KubeletProgram } from '../../lab/kubelet/kubelet-program.ts';

const root = join(import.meta.dirname, '../..');

/** Copies the built daemon and Node. The copy is removed at the end of the benchmark. */
export function installKubelet({ onEnd }: BenchContext): KubeletProgram {
  ensureBuilt();
  const home = mkdtempSync(join(tmpdir(), 'bench-installed-'));
  onEnd(async () => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, 'bin'));
  copyFileSync(kubeletPath, join(home, 'bin/kubelet'));
  cpSync(join(root, 'dist/src'), join(home, 'dist/src'), { recursive: true });
  copyFileSync(realpathSync(join(root, 'dist/kubelet')), join(home, 'dist/kubelet'));
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'));
  copyFileSync(join(root, 'package.json'), join(home, 'package.json'));
  return { executable: join(home, 'bin/kubelet'), configuration: {}, needsCgroupRoot: false };
}
