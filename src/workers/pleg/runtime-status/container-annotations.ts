/**
 * Parses the annotations that the kubelet sets when it creates a container. Pure. The container may come from an older or another
 * kubelet, or be modified: missing and invalid annotations get upstream's defaults (pkg/kubelet/kuberuntime/labels.go), and `problems`
 * lists the invalid ones.
 */
import * as names from '../../../shared/kubernetes/annotations.ts';
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';

export interface ContainerAnnotations {
  /** Lower-case hex without leading zeros, like the hash of the spec. */
  readonly hash: string;
  readonly restartCount: number;
  readonly restartBackOff?: NonNullable<RuntimeContainerStatus['restartBackOff']>;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly orphan: RuntimeContainerStatus['orphan'];
  /** One line per invalid annotation, with its shortened value. */
  readonly problems: readonly string[];
}

/** The API's type of restart counts. The API server would refuse each status of the pod with a larger one. */
const maxInt32 = 2 ** 31 - 1;

export function readContainerAnnotations(annotations: Readonly<Record<string, string>>): ContainerAnnotations {
  const problems: string[] = [];
  /** Returns the parsed value. Undefined when the annotation is absent or invalid. */
  const read = <T>(name: string, expected: string, parse: (value: string) => T | undefined): T | undefined => {
    const value = Object.hasOwn(annotations, name) ? annotations[name]! : undefined;
    const parsed = value === undefined ? undefined : parse(value);
    if (value !== undefined && parsed === undefined)
      problems.push(`annotation ${name} is not ${expected}: ${JSON.stringify(value.slice(0, 80))}`);
    return parsed;
  };
  const integer = (value: string) => (/^[+-]?\d{1,15}$/.test(value) ? Number(value) : undefined);
  const restarts = (value: string) => (/^\d{1,10}$/.test(value) && Number(value) <= maxInt32 ? Number(value) : undefined);
  const json = (accept: (value: unknown) => boolean) => (value: string) => (accept(parseJSON(value)) ? value : undefined);

  const podTerminationGracePeriodSeconds = read(names.podTerminationGracePeriodAnnotation, 'a number of seconds', integer);
  const podDeletionGracePeriodSeconds = read(names.podDeletionGracePeriodAnnotation, 'a number of seconds', integer);
  const preStopHandler = read(names.containerPreStopHandlerAnnotation, 'the JSON of a handler', json(isObject));
  const restartBackOff = read(names.containerRestartBackOffAnnotation, 'a back-off', parseRestartBackOff);
  const ports = read(names.containerPortsAnnotation, 'the JSON of a list of ports', json(Array.isArray));
  return {
    hash:
      read(names.containerHashAnnotation, 'a hash in hex', (value) =>
        /^[0-9a-f]{1,16}$/i.test(value) ? BigInt(`0x${value}`).toString(16) : undefined,
      ) ?? '0',
    restartCount: read(names.containerRestartCountAnnotation, 'a number of restarts', restarts) ?? 0,
    ...(restartBackOff && { restartBackOff }),
    terminationMessagePath: annotations[names.containerTerminationMessagePathAnnotation] ?? '',
    terminationMessagePolicy: annotations[names.containerTerminationMessagePolicyAnnotation] ?? '',
    orphan: {
      ...(podTerminationGracePeriodSeconds !== undefined && { podTerminationGracePeriodSeconds }),
      ...(podDeletionGracePeriodSeconds !== undefined && { podDeletionGracePeriodSeconds }),
      ...(preStopHandler !== undefined && { preStopHandler }),
      ...(ports !== undefined && { ports }),
    },
    problems,
  };
}

function parseRestartBackOff(value: string): ContainerAnnotations['restartBackOff'] {
  const { ms, key } = /^(?<ms>\d{1,9}) (?<key>[-a-z0-9./]{1,80})$/.exec(value)?.groups ?? {};
  return ms === undefined || key === undefined ? undefined : { key, backoffMs: Number(ms) };
}

function parseJSON(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
