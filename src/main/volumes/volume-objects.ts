/** Reads claims, persistent volumes and CSI drivers, each with one GET: the Node authorizer allows neither lists nor watches of the first two. */
import type { NodeSelector } from '../../shared/kubernetes/node-selector.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { VolumeAttachment } from './attachments/attachment-status.ts';
import { ApiError, apiPath, isNotFound, type ApiClient, type ApiObject } from '../api/index.ts';

export interface PersistentVolumeClaim extends ApiObject {
  readonly metadata: ApiObject['metadata'] & {
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly uid: string; readonly controller?: boolean }[];
  };
  readonly spec?: { readonly volumeName?: string };
  readonly status?: { readonly phase?: string };
}

export interface PersistentVolume extends ApiObject {
  readonly metadata: ApiObject['metadata'] & { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly claimRef?: { readonly uid?: string };
    readonly accessModes?: readonly string[];
    readonly mountOptions?: readonly string[];
    readonly volumeMode?: string;
    readonly nodeAffinity?: { readonly required?: NodeSelector };
    readonly csi?: CsiSource;
    readonly local?: LocalSource;
    readonly hostPath?: { readonly path: string; readonly type?: string };
  };
}

/** A folder or a block device of one node. */
export interface LocalSource {
  readonly path: string;
  readonly fsType?: string;
}

export interface CsiSource {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly readOnly?: boolean;
  readonly fsType?: string;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
  readonly nodeStageSecretRef?: { readonly name: string; readonly namespace: string };
  readonly nodePublishSecretRef?: { readonly name: string; readonly namespace: string };
}

export interface CsiDriverObject extends ApiObject {
  readonly spec?: {
    readonly attachRequired?: boolean;
    readonly podInfoOnMount?: boolean;
    readonly fsGroupPolicy?: string;
    readonly tokenRequests?: readonly { readonly audience?: string; readonly expirationSeconds?: number }[];
    readonly serviceAccountTokenInSecrets?: boolean;
    readonly requiresRepublish?: boolean;
    readonly volumeLifecycleModes?: readonly string[];
  };
}

/** A working API server responds within milliseconds, and the pod's next sync retries. */
const deadlineMs = 10_000;
/** The authorizer may not know the pod's binding to this node yet; that usually takes milliseconds. */
const retryDelaysMs = [50, 100, 200, 400];

export class VolumeObjects {
  readonly #client: ApiClient;
  readonly #clock: Clock;

  constructor(client: ApiClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Rejects with ApiError. */
  async claim(namespace: string, name: string): Promise<PersistentVolumeClaim> {
    return this.#get(apiPath('api', 'v1', 'namespaces', namespace, 'persistentvolumeclaims', name));
  }

  /** Rejects with ApiError. */
  async volume(name: string): Promise<PersistentVolume> {
    return this.#get(apiPath('api', 'v1', 'persistentvolumes', name));
  }

  /** Rejects with ApiError. */
  async attachment(name: string): Promise<VolumeAttachment> {
    return this.#get(apiPath('apis', 'storage.k8s.io', 'v1', 'volumeattachments', name));
  }

  /** Resolves with the texts of a Secret that a volume refers to. Rejects with ApiError. */
  async secret(namespace: string, name: string): Promise<Readonly<Record<string, string>>> {
    const { data } = await this.#get<{ readonly data?: Readonly<Record<string, string>> | null }>(
      apiPath('api', 'v1', 'namespaces', namespace, 'secrets', name),
    );
    return Object.fromEntries(Object.entries(data ?? {}).map(([key, base64]) => [key, Buffer.from(base64, 'base64').toString()]));
  }

  /** Resolves with null for a driver without such an object. Rejects with ApiError. */
  async driver(name: string): Promise<CsiDriverObject | null> {
    try {
      return await this.#read<CsiDriverObject>(apiPath('apis', 'storage.k8s.io', 'v1', 'csidrivers', name));
    } catch (err) {
      if (isNotFound(err)) return null;
      throw err;
    }
  }

  async #get<T>(path: string): Promise<T> {
    for (const delayMs of retryDelaysMs) {
      try {
        return await this.#read<T>(path);
      } catch (err) {
        if (!(err instanceof ApiError) || (err.code !== 403 && err.code !== 404)) throw err;
        await this.#clock.sleep(delayMs);
      }
    }
    return this.#read<T>(path);
  }

  #read<T>(path: string): Promise<T> {
    return this.#client.call<T>({ method: 'GET', path, trafficClass: 'objects', deadlineMs, maxAttempts: 1 });
  }
}
