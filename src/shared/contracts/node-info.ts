/** What a sync must know of the node. Sent with each task, so that a change is seen by the next sync. */
export interface NodeInfo {
  readonly nodeName: string;
  readonly hostname: string;
  /** Primary first. */
  readonly hostIPs: readonly string[];
  readonly capacity: NodeResources;
  readonly allocatable: NodeResources;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  /** Empty where the runtime does not say (containerd before 2.0). */
  readonly runtimeHandlers: readonly RuntimeHandler[];
  /** The runtime's network is ready: without it only hostNetwork pods may start. */
  readonly networkReady: boolean;
  readonly networkNotReadyMessage: string;
}

export interface NodeResources {
  readonly milliCPU: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes: number;
  readonly pods: number;
}

/** What the runtime can do under one of its handlers; `''` names its default. */
export interface RuntimeHandler {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}
