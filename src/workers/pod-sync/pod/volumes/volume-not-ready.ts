/** The error of a volume whose message is complete: it names the volume and the operation. */
import type { VolumeNotReady } from '../../../../shared/contracts/published-volumes.ts';

export class VolumeNotReadyError extends Error {
  readonly result: VolumeNotReady;
  constructor(result: VolumeNotReady) {
    super(result.message);
    this.result = result;
  }
}
