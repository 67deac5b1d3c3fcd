/** The part of the node's state that a sync needs. Main sends it with each task, so that the next sync uses every change. */
export interface NodeInfo {
  readonly nodeName: string;
  readonly hostname: string;
  /** Primary first. */
  readonly hostIPs: readonly string[];
  readonly capacity: NodeResources;
  readonly allocatable: NodeResources;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  /** Empty if the runtime does not report its handlers (containerd before 2.0). */
  readonly runtimeHandlers: readonly RuntimeHandler[];
  /** The runtime's network is ready. Otherwise only hostNetwork pods may start. */
  readonly networkReady: boolean;
  readonly networkNotReadyMessage: string;
}

export interface NodeResources {
  readonly milliCPU: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes: number;
  readonly pods: number;
}

/** The features of one runtime handler. The name `''` is the default handler. */
export interface RuntimeHandler {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}
