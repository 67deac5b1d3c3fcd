/** A pod in the API server's protobuf encoding, for control characters: as JSON they take six bytes each, beyond what the API server reads. */
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { encodePod } from '../../../src/workers/server/pods-api/encode-pod.ts';

/** Returns the bytes of runtime.Unknown (apimachinery/pkg/runtime/generated.proto) behind Kubernetes' four magic ones. */
export function protobufPod(pod: object): Uint8Array {
  const writer = new BinaryWriter().uint32(tag(1)).fork();
  writer.uint32(tag(1)).string('v1').uint32(tag(2)).string('Pod');
  writer.join();
  writer.uint32(tag(2)).bytes(encodePod(pod));
  return Buffer.concat([Buffer.from('k8s\0'), writer.finish()]);
}

const lengthDelimited = 2;
function tag(field: number): number {
  return field * 8 + lengthDelimited;
}
