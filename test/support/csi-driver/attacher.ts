/** Does what external-attacher does with a VolumeAttachment: the controller manager makes and deletes it. */
import type { ApiClient } from '../../../lab/control-plane/control-plane-api.ts';
import { attachmentName } from '../../../src/shared/kubernetes/attachment-names.ts';
import { waitUntil } from '../runtime/simulated-runtime.ts';

export interface AttachmentStatus {
  readonly attached: boolean;
  readonly attachmentMetadata?: Readonly<Record<string, string>>;
  readonly attachError?: { readonly message: string; readonly errorCode?: number };
}

export class TestAttacher {
  readonly #api: ApiClient;
  readonly #driver: string;
  readonly #nodeName: string;

  constructor(api: ApiClient, driver: string, nodeName: string) {
    this.#api = api;
    this.#driver = driver;
    this.#nodeName = nodeName;
  }

  path(volumeHandle: string): string {
    return `/apis/storage.k8s.io/v1/volumeattachments/${attachmentName(volumeHandle, this.#driver, this.#nodeName)}`;
  }

  exists(volumeHandle: string): Promise<boolean> {
    return this.#api.find(this.path(volumeHandle)).then((found) => found !== undefined);
  }

  /** Waits for the controller, then sets the status. */
  async setStatus(volumeHandle: string, status: AttachmentStatus): Promise<void> {
    await waitUntil('the controller has made the attachment', () => this.exists(volumeHandle), 60_000);
    await this.#api.patch(`${this.path(volumeHandle)}/status`, { status });
  }
}
