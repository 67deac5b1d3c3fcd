/** The size of objects that a sync task requests, before they are copied for it. Pure. */
import type { PodObject, PodObjectResult } from '../../shared/contracts/pod-objects.ts';

/** Returns the length of all texts, and nearly the bytes that a copy takes. */
export function podObjectBytes(results: readonly PodObjectResult[]): number {
  let bytes = 0;
  for (const result of results) bytes += result.outcome === 'value' ? bytesOf(result.value) : result.failure.message.length;
  return bytes;
}

function bytesOf(object: PodObject): number {
  switch (object.kind) {
    case 'Secret':
      return bytesOfEntries(object.data);
    case 'ConfigMap':
      return bytesOfEntries(object.data) + bytesOfEntries(object.binaryData);
    case 'Token':
      return object.token.length;
    case 'TrustAnchors':
      return object.pem.length;
    case 'Credentials':
      return object.keyPEM.length + object.chainPEM.length;
    case 'Services':
      return object.services.reduce((sum, { name, ports }) => sum + name.length + bytesPerService + bytesPerPort * ports.length, 0);
    default:
      return object satisfies never;
  }
}

/** Estimates for a service without its name, and for each port. */
const bytesPerService = 64;
const bytesPerPort = 32;
/** An estimate of what an entry takes beside its characters: the key is a string of its own. */
const bytesPerEntry = 32;

function bytesOfEntries(entries: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const key in entries) bytes += key.length + (entries[key]?.length ?? 0) + bytesPerEntry;
  return bytes;
}
