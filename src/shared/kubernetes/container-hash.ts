/**
 * The hash that every container carries in its annotation `io.kubernetes.container.hash`: a running container whose hash differs from its
 * spec's is replaced. It must be upstream's to the bit (pkg/kubelet/container HashContainer), or a change-over between
 * kubelets would restart every container of the node.
 */
import type { Container } from './api.ts';

/** 32-bit FNV-1a: offset basis and prime as published (RFC 9923). */
export function fnv32a(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** JSON string as Go's encoder writes it: `<`, `>`, `&` and the two line separators are escaped. */
function goJSONString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Hex without leading zeroes, as the annotation has it. Only image and name count. What is hashed is not the JSON itself but Go's
 * debug print of its bytes: upstream gives a byte slice to a function meant for objects, and the result has been kept since v1.31.
 */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  const json = `{"image":${goJSONString(container.image ?? '')},"name":${goJSONString(container.name)}}`;
  return fnv32a(Buffer.from(`([]uint8)[${Buffer.from(json).join(' ')}]`)).toString(16);
}
