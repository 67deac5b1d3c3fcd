/**
 * The builds of a run of tests, in the order in which they begin. Downloads begin at once. Of the others one runs at a time, in the idle
 * scheduling class: it takes the CPU time that tests leave, until only jobs are left that wait for it.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { arePrograms, type Program } from '../../lab/programs/cluster-programs.ts';
import { controlPlanePrograms } from '../../lab/programs/control-plane.ts';
import { kubeadmPrograms } from '../../lab/programs/kubeadm.ts';
import type { Need } from './jobs.ts';

export interface Build {
  readonly name: string;
  readonly provides: readonly Need[];
  readonly command: readonly [string, ...string[]];
  /** Waits for the network, or takes seconds. */
  readonly isDownload: boolean;
  /** For a build that provides one thing after the other: whether a thing is complete already. */
  readonly isReady?: (need: Need) => boolean;
}

const programsOf: Partial<Record<Need, readonly Program[]>> = {
  'control-plane': controlPlanePrograms,
  kubeadm: kubeadmPrograms,
  'go-kubelet': ['kubelet'],
  'metrics-server': ['metrics-server'],
};

const containerd = (version: '1.7' | '2.1' | '2.3'): Build => ({
  name: `containerd ${version}`,
  provides: [`containerd-${version}`],
  command: ['node', 'lab/containerd/installations/installations.ts', version],
  isDownload: version !== '2.3',
});

export const builds: readonly Build[] = [
  { name: 'the bundle', provides: ['bundle'], command: ['node', 'lab/kubelet/build.ts'], isDownload: true },
  { name: 'Go', provides: ['go'], command: ['node', 'lab/programs/go.ts'], isDownload: true },
  containerd('1.7'),
  containerd('2.1'),
  { name: 'crun and gVisor', provides: ['runtimes'], command: ['node', 'lab/oci-runtimes/installation.ts'], isDownload: true },
  { name: 'the guest’s disk', provides: ['guest-root'], command: ['node', 'lab/guest/install.ts', 'root'], isDownload: true },
  {
    name: 'programs of clusters',
    provides: Object.keys(programsOf) as Need[],
    command: ['node', 'lab/programs/build.ts'],
    isDownload: false,
    isReady: (need) => arePrograms(programsOf[need] ?? []),
  },
  { name: 'the guest’s kernel', provides: ['guest-kernel'], command: ['node', 'lab/guest/install.ts', 'kernel'], isDownload: false },
  containerd('2.3'),
];

/** An hour of compiling in the idle class beside tests would be a fault. */
export const buildLimitMs = 60 * 60_000;

/** Returns the builds that provide what jobs need. */
export function neededBuilds(needs: ReadonlySet<Need>): Build[] {
  return builds.filter(({ provides }) => provides.some((need) => needs.has(need)));
}

/** Returns the builds that begin now. Pure. */
export function chooseBuilds(waiting: readonly Build[], running: readonly Build[]): Build[] {
  const isCompiling = running.some(({ isDownload }) => !isDownload);
  const [compile] = waiting.filter(({ isDownload }) => !isDownload);
  return [...waiting.filter(({ isDownload }) => isDownload), ...(compile === undefined || isCompiling ? [] : [compile])];
}

/** Returns the command in the idle class. Processes that it starts inherit the class. */
export function inIdleClass([command, ...args]: Build['command']): [string, string[]] {
  return ['chrt', ['--idle', '0', command, ...args]];
}

/** Moves all threads of a process group from the idle class to the normal one. Those that start meanwhile are moved by the next call. */
export function setNormalClass(processGroup: number): void {
  for (const pid of processesOf(processGroup)) {
    try {
      execFileSync('chrt', ['--all-tasks', '--other', '--pid', '0', pid], { stdio: 'ignore' });
    } catch {
      // It has ended.
    }
  }
}

function processesOf(processGroup: number): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        // After the name in parentheses, which may have spaces: state, parent, process group.
        return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[2]) === processGroup;
      } catch {
        return false;
      }
    });
}
