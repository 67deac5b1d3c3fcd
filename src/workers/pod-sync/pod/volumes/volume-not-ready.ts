/** The error of a volume that could not be published or unpublished, or not yet. Its message already names the volume and the operation. */
import type { VolumeNotReady } from '../../../../shared/contracts/published-volumes.ts';

export class VolumeNotReadyError extends Error {
  readonly result: VolumeNotReady;
  constructor(result: VolumeNotReady) {
    super(result.message);
    this.result = result;
  }
}
