/** Ten fields that have cost the kubelet most, with sizes that the API server admits quickly, so that no search is needed. Pure. */
import { growingFields, nameOf } from './fields.ts';
import type { LargeField } from './largest-values.ts';

/** Bytes. A control character has six bytes in the API server's JSON. */
const sizes: Readonly<Record<string, number>> = {
  'metadata.annotations many': 200_000,
  'metadata.annotations{} long': 250_000,
  'spec.containers[].args many': 500_000,
  'spec.containers[].args[] long': 1_300_000,
  'spec.containers[].env many': 50_000,
  'spec.containers[].env[].value long': 1_300_000,
  'spec.containers[].lifecycle.preStop.exec.command[] long': 1_300_000,
  'spec.containers[].ports many': 20_000,
  'spec.readinessGates many': 20_000,
  'spec.volumes many': 30_000,
};

/** @param share of the sizes, from 0 to 1 */
export function sampleFields(share = 1): readonly LargeField[] {
  return growingFields().flatMap((field): LargeField[] => {
    const bytes = sizes[nameOf(field)];
    return bytes === undefined ? [] : [{ field, bytes: bytes * share, character: '\u0001' }];
  });
}
