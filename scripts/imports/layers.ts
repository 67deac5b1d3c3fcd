/**
 * The layers of the trees that have them, from the highest to the lowest. A room is a folder or a file directly below the tree's root. A file
 * imports only from its own room and from lower layers: rooms of one layer do not know each other.
 */

export interface Layer {
  readonly name: string;
  readonly rooms: readonly string[];
}

export interface LayeredTree {
  readonly root: string;
  readonly layers: readonly Layer[];
  /** The largest share of the tree's files in one layer: a layer with more says nothing about its files. */
  readonly maxShare: number;
  /** Arrows between two rooms that are not downward, each with its reason. */
  readonly exceptions: readonly { readonly from: string; readonly to: string; readonly reason: string }[];
}

export const layeredTrees: readonly LayeredTree[] = [
  {
    root: 'src/main',
    maxShare: 1 / 3,
    layers: [
      { name: 'command', rooms: ['cli.ts'] },
      { name: 'subcommands', rooms: ['cli'] },
      { name: 'composition root', rooms: ['kubelet.ts'] },
      { name: 'wiring', rooms: ['wiring'] },
      { name: "the kubelet's ports", rooms: ['server'] },
      {
        name: 'what acts on pods',
        rooms: ['config-reload', 'eviction', 'node-cgroups', 'node-shutdown', 'pod-resources', 'shutdown.ts', 'sync-loop.ts'],
      },
      { name: 'pods', rooms: ['pods'] },
      { name: 'what pods depend on', rooms: ['allocation', 'node', 'objects', 'plugins', 'probes', 'sources', 'timeline', 'volumes'] },
      { name: 'cluster', rooms: ['certificates', 'events'] },
      { name: 'API client and process', rooms: ['api', 'process'] },
      { name: 'settings, threads and host', rooms: ['config', 'network-chains', 'systemd', 'threads'] },
    ],
    exceptions: [],
  },
  {
    root: 'src/main/pods',
    maxShare: 1 / 2,
    layers: [
      { name: 'updates of pods', rooms: ['pod-handlers.ts'] },
      { name: 'admission of a pod', rooms: ['pod-admitter.ts', 'resize-admission.ts'] },
      { name: 'all pods', rooms: ['active-pods.ts', 'housekeeping', 'preempt-pods.ts'] },
      { name: 'one pod', rooms: ['status', 'workers'] },
      { name: 'the status in the API', rooms: ['api-status'] },
      { name: 'parts', rooms: ['admission', 'dispatch', 'lifecycle', 'pod-start-latency.ts', 'static'] },
      {
        name: 'state and rules',
        rooms: ['first-seen.ts', 'mounted-volumes.ts', 'pod-manager.ts', 'pod-running.ts', 'runtime-status-cache.ts', 'termination'],
      },
    ],
    exceptions: [],
  },
  {
    root: 'src/workers/pod-sync',
    // The kinds of tasks are side by side, and know nothing of each other. The next tree has the layers of the largest one.
    maxShare: 1,
    layers: [
      { name: 'thread', rooms: ['index.ts'] },
      { name: 'dependencies', rooms: ['create-dependencies.ts'] },
      { name: 'tasks', rooms: ['manifest', 'node', 'pod'] },
      { name: 'cgroups', rooms: ['cgroups'] },
    ],
    exceptions: [],
  },
  {
    root: 'src/workers/pod-sync/pod',
    maxShare: 1 / 3,
    layers: [
      { name: 'task', rooms: ['run-task.ts'] },
      { name: 'syncs', rooms: ['sync-pod.ts', 'sync-terminated-pod.ts', 'sync-terminating-pod.ts'] },
      { name: 'actions', rooms: ['actions', 'mount-volumes.ts'] },
      { name: 'starts', rooms: ['start'] },
      { name: 'kills and resizes', rooms: ['kill', 'resize'] },
      { name: 'steps of a container', rooms: ['container-log-link.ts', 'hooks', 'in-phase.ts'] },
      { name: 'dependencies', rooms: ['dependencies.ts'] },
      { name: 'volumes and reports', rooms: ['pod-events.ts', 'pod-objects.ts', 'sync-report.ts', 'volumes'] },
      { name: 'decisions and configs', rooms: ['compute-pod-actions', 'runtime-config', 'task-channel-client.ts'] },
      {
        name: 'ground',
        rooms: [
          'blocking-fs.ts',
          'crash-loop-backoff.ts',
          'format-pod.ts',
          'hook-request.ts',
          'large-work.ts',
          'pod-runtime.ts',
          'request-window.ts',
        ],
      },
    ],
    exceptions: [],
  },
  {
    root: 'src/shared',
    maxShare: 1 / 3,
    layers: [
      { name: 'ports', rooms: ['health'] },
      { name: 'threads', rooms: ['grpc-client', 'helper-client', 'http', 'runtime', 'thread', 'timeline', 'tree-usage'] },
      { name: 'contracts', rooms: ['contracts'] },
      { name: 'clients', rooms: ['cri', 'http-get'] },
      { name: 'faults and traces', rooms: ['faults', 'tracing'] },
      { name: 'on Kubernetes', rooms: ['cgroups', 'concurrency', 'container-logs', 'files', 'log', 'registry-credentials', 'state'] },
      { name: 'Kubernetes and connections', rooms: ['dial', 'kubernetes'] },
      { name: 'ground', rooms: ['dbus', 'errors', 'heap', 'linux', 'local-socket', 'metrics', 'pod-resources', 'time', 'x509'] },
    ],
    exceptions: [],
  },
  {
    root: 'lab',
    maxShare: 1 / 2,
    layers: [
      { name: 'guests', rooms: ['guest'] },
      { name: 'kubelets', rooms: ['kubelet'] },
      { name: 'runtimes and control plane', rooms: ['containerd', 'control-plane', 'oci-runtimes'] },
      { name: 'programs', rooms: ['programs'] },
      { name: 'simulated runtime', rooms: ['simulated-runtime'] },
      { name: 'ground', rooms: ['cache', 'host'] },
    ],
    exceptions: [],
  },
];
