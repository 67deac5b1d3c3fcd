/** What a run of tests consists of: builds, and jobs of tests. Pure data; queue.ts decides the order, run-tests.ts executes. */

export type Part = 'check' | 'unit' | 'integration' | 'e2e' | 'guest';
export const parts: readonly Part[] = ['check', 'unit', 'integration', 'e2e', 'guest'];

/** What a job needs on the host before it starts. builds.ts has the command of each. */
export type Need =
  | 'bundle'
  | 'containerd-1.7'
  | 'containerd-2.1'
  | 'containerd-2.3'
  | 'runtimes'
  | 'control-plane'
  | 'go'
  | 'go-kubelet'
  | 'kubeadm'
  | 'metrics-server'
  | 'guest-kernel'
  | 'guest-root';

export interface TestJob {
  /** Unique. Of a file: its base name without `.test.ts`, which survives a move of the file. */
  readonly name: string;
  readonly part: Part;
  /** Relative to the project. Undefined for parts that are one command. */
  readonly file?: string;
  readonly needs: readonly Need[];
  /** Lanes that it counts as: two for a file with two busy guests. */
  readonly weight: 1 | 2;
  /** True: no end-to-end file runs beside it. */
  readonly alone: boolean;
  /** Expected wall time. */
  readonly seconds: number;
}

/** Long, so that no new file is killed before it was measured. */
const secondsWithoutMeasurement = 180;
/** It has two guests, each with as much to do as any other. */
const heavyFiles = new Set(['kubeadm']);
/** Its hierarchy of cgroups is in the list of every process. While that is so, containerd notices no process that is out of memory. */
const aloneFiles = new Set(['huge-pages']);

export function jobName(file: string): string {
  return file.replace(/^.*\//, '').replace(/\.test\.m?[jt]s$/, '');
}

export function partOf(file: string): Part | undefined {
  const [, part] = /^test\/([^/]+)\//.exec(file) ?? [];
  return parts.find((each) => each === part && each !== 'unit');
}

/** @param needs of the file, see needs.ts */
export function jobOfFile(file: string, part: Part, needs: readonly Need[], seconds: number | undefined): TestJob {
  const name = jobName(file);
  return {
    name,
    part,
    file,
    needs,
    weight: heavyFiles.has(name) ? 2 : 1,
    alone: aloneFiles.has(name),
    seconds: seconds ?? secondsWithoutMeasurement,
  };
}

/** A part that is one command. */
export function jobOfPart(part: 'check' | 'unit', seconds: number | undefined): TestJob {
  return { name: part, part, needs: [], weight: 1, alone: false, seconds: seconds ?? secondsWithoutMeasurement };
}
