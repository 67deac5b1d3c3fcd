/** A lane runs jobs sequentially. It has a network namespace, and a control plane that its end-to-end files share and the first of them starts. */
import { NetworkNamespace } from './network-namespace.ts';
import type { Part } from './jobs.ts';

export interface Lane {
  readonly number: number;
  readonly env: NodeJS.ProcessEnv;
  /** Returns a command that runs the given command in the lane. */
  wrap(part: Part, command: string, args: readonly string[]): [string, string[]];
  close(): void;
}

const isolatedParts: ReadonlySet<Part> = new Set(['integration', 'e2e']);

/** The namespace is created for the first job that needs it. */
export function openLane(number: number): Lane {
  let namespace: NetworkNamespace | undefined;
  return {
    number,
    env: { ...process.env, KUBELET_TEST_RUN: String(process.pid), KUBELET_TEST_LANE: String(number) },
    wrap(part, command, args) {
      if (!isolatedParts.has(part)) return [command, [...args]];
      namespace ??= NetworkNamespace.create(number);
      return namespace.wrap(command, args);
    },
    close: () => namespace?.delete(),
  };
}
