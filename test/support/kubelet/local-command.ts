/** Runs the commands `kubelet timeline`, `image-gc` and `eviction` of the bundle. */
import { execFile } from 'node:child_process';
import { kubeletPath } from '../../../lab/kubelet/kubelet-program.ts';
import type { TimelineJson } from '../../../src/shared/contracts/timeline.ts';
import { kubeletEnvironment } from './kubelet-environment.ts';
import { waitUntil } from '../runtime/simulated-runtime.ts';

export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function runLocalCommand(
  command: 'timeline' | 'image-gc' | 'eviction',
  rootDir: string,
  ...args: readonly string[]
): Promise<CommandOutput> {
  return new Promise((resolve) => {
    execFile(kubeletPath, [command, ...args, '--root-dir', rootDir], { env: kubeletEnvironment() }, (err, stdout, stderr) =>
      resolve({ code: typeof err?.code === 'number' ? err.code : err ? -1 : 0, stdout, stderr }),
    );
  });
}

/** Waits until the timeline of the pod (`<namespace>/<name>`) fulfils the condition. */
export function untilTimeline(
  rootDir: string,
  pod: string,
  what: string,
  condition: (json: TimelineJson) => boolean,
): Promise<TimelineJson> {
  return waitUntil(
    `the timeline of ${pod} ${what}`,
    async () => {
      const { code, stdout } = await runLocalCommand('timeline', rootDir, pod, '--json');
      const json = code === 0 ? (JSON.parse(stdout) as TimelineJson) : undefined;
      return json && condition(json) ? json : undefined;
    },
    30_000,
  );
}
