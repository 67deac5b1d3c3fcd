/** Converts main's results for config maps and secrets to texts by key, for environments. Pure. */
import type { PodObjectResult } from '../../../../shared/contracts/pod-objects.ts';

/** A variable's value. `bytes` is set when a secret's value is not valid UTF-8. */
export interface Text {
  readonly value: string;
  readonly bytes?: Uint8Array;
}

export type ReferencedKind = 'ConfigMap' | 'Secret';

const kindNames = { ConfigMap: 'configMap', Secret: 'secret' } as const;

/** Returns undefined when an optional object does not exist. Throws an Error with main's message. */
export function referencedObject(
  kind: ReferencedKind,
  result: PodObjectResult | undefined,
  { namespace, name, optional }: { readonly namespace: string; readonly name: string; readonly optional: boolean },
): ReadonlyMap<string, Text> | undefined {
  if (result?.outcome === 'value') {
    const { value } = result;
    if (value.kind === 'Secret' && kind === 'Secret') {
      return new Map(Object.entries(value.data).map(([key, base64]) => [key, toText(Buffer.from(base64, 'base64'))]));
    }
    if (value.kind === 'ConfigMap' && kind === 'ConfigMap') {
      return new Map(Object.entries(value.data).map(([key, text]) => [key, { value: text }]));
    }
  }
  if (result?.outcome !== 'failed') throw new Error(`couldn't get ${kindNames[kind]} ${namespace}/${name}: it was not requested`);
  const { reason, message } = result.failure;
  if (reason === 'NotFound' && optional) return undefined;
  if (reason !== 'NoClient') throw new Error(message);
  throw new Error(
    `couldn't get ${kindNames[kind]} ${namespace}/${name}, no kubeClient defined: it lies in the API server, and this kubelet runs standalone`,
  );
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function toText(bytes: Buffer): Text {
  try {
    return { value: utf8.decode(bytes) };
  } catch {
    return { value: bytes.toString('utf8'), bytes };
  }
}
