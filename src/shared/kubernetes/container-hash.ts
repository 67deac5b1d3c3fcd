/**
 * Computes the value of the annotation `io.kubernetes.container.hash`. The kubelet replaces a running container when this hash
 * differs from the hash of its spec. The value equals upstream's (pkg/kubelet/container HashContainer): any difference would
 * restart every container when a node switches between kubelets.
 */
import type { Container } from './api.ts';
import { toGoJSON } from './go-text.ts';

/** 32-bit FNV-1a. RFC 9923 defines the offset basis and the prime. */
export function fnv32a(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/**
 * Returns lower-case hex without leading zeroes. The hash covers only image and name. Its input is Go's debug print of the JSON
 * bytes: upstream passes a byte slice to a function that prints objects, and has kept the result stable since v1.31.
 */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  const json = `{"image":${toGoJSON(container.image ?? '')},"name":${toGoJSON(container.name)}}`;
  return fnv32a(Buffer.from(`([]uint8)[${Buffer.from(json).join(' ')}]`)).toString(16);
}
