/** The lists of tests that are run and judged one at a time. Each takes at most 40 minutes on two cores. */

export interface TestList {
  readonly name: string;
  /**
   * `cluster`: test/e2e against a cluster with one node. `node`: test/e2e_node, which starts its own API server and kubelet. `guest`: the same in a guest with systemd
   * and cgroup v2.
   */
  readonly suite: 'cluster' | 'node' | 'guest';
  readonly contents: string;
  /** ginkgo's label filter. */
  readonly labelFilter: string;
  /** Regular expressions: a test's name matches one of them. Empty: any. */
  readonly focus: readonly string[];
  /** Regular expressions of names. */
  readonly skip: readonly string[];
  /** Tests at the same time. They mostly wait. Tests that are labelled Serial run alone in any case. */
  readonly processes: number;
  /** Alpha gates of the API server, the scheduler and the kubelet. Each knows all of them. */
  readonly featureGates?: readonly string[];
  /** In a guest: the suite puts a proxy between kubelet and runtime, which delays calls. */
  readonly criProxy?: boolean;
}

const storageDrivers = String.raw`\[Driver: (emptydir|hostPath|hostPathSymlink|local)\]`;

/** In lists of a quarter of an hour: each test waits for its pod's containers once or twice, many for their restart. */
const resizes = {
  suite: 'cluster',
  labelFilter: '',
  processes: 8,
  featureGates: ['InPlacePodVerticalScalingMemoryBackedVolumes', 'KubeletAllocatedPodsEndpoint'],
} as const;
const containerResizes = String.raw`\[sig-node\] Pod (InPlace Resize|Allocated Endpoint)`;
const resizePreemption = String.raw`\(deferred-resize-preemption\)`;
const guaranteedPods = 'PLR Pod InPlace Resize.* PLR guaranteed qos';

export const testLists: readonly TestList[] = [
  {
    name: 'nodes',
    suite: 'cluster',
    contents: 'conformance of nodes',
    // Tests of the scheduler come with the suite's common part.
    focus: [String.raw`\[sig-(node|storage|network)\]`],
    skip: [],
    labelFilter: '(NodeConformance || Conformance) && !Slow',
    processes: 8,
  },
  {
    ...resizes,
    name: 'resizes-containers',
    contents: 'in-place resizes of containers and of volumes in memory',
    focus: [containerResizes],
    skip: [],
    labelFilter: '!Serial',
  },
  {
    ...resizes,
    name: 'resizes-serial',
    contents: 'those that fill the node',
    focus: [containerResizes],
    // Its pods are deleted with its namespace, and would fill the node for the next test.
    skip: [resizePreemption],
    labelFilter: 'Serial',
  },
  {
    ...resizes,
    name: 'resizes-preemption',
    contents: 'a deferred resize for which the scheduler ends other pods',
    focus: [resizePreemption],
    skip: [],
    featureGates: ['InPlacePodVerticalScalingSchedulerPreemption'],
  },
  {
    ...resizes,
    name: 'resizes-pods',
    contents: 'in-place resizes of pods with resources of their own, which are slow',
    focus: ['PLR Pod InPlace Resize'],
    skip: [guaranteedPods],
  },
  {
    ...resizes,
    name: 'resizes-guaranteed-pods',
    contents: 'the same of Guaranteed pods',
    focus: [guaranteedPods],
    skip: [],
  },
  {
    name: 'auth',
    suite: 'cluster',
    contents: 'service accounts, trust bundles, pod certificates, the node authorizer',
    focus: [String.raw`\[sig-auth\]`],
    skip: [],
    labelFilter: '!Slow && !Serial && !Disruptive && !Flaky',
    processes: 8,
  },
  {
    name: 'storage',
    suite: 'cluster',
    contents: 'volumes of the node itself: emptyDir, hostPath, local',
    focus: [String.raw`\[sig-storage\] (EmptyDir wrapper|HostPathType|Subpath|Ephemeralstorage)`, storageDrivers],
    skip: [],
    labelFilter: '!Serial && !Disruptive && !Flaky',
    processes: 8,
  },
  {
    name: 'node-conformance',
    suite: 'node',
    contents: 'conformance of nodes that needs the host',
    focus: [],
    skip: [],
    labelFilter: 'NodeConformance && !Serial && !Slow && !Flaky',
    processes: 8,
  },
  {
    name: 'node-features',
    suite: 'node',
    contents: 'the same without the label, and features',
    focus: [],
    skip: [String.raw`\[Feature:(DynamicResourceAllocation|Swap|StandaloneMode|KubeletSeparateDiskGC)\]`, 'CRI Proxy'],
    labelFilter: '!NodeConformance && !Serial && !Slow && !Disruptive && !Flaky',
    processes: 8,
  },
  {
    name: 'node-restarts',
    suite: 'node',
    contents: 'restarts of the kubelet and of the runtime',
    focus: [
      '(Containers Lifecycle|Not Change Container Status|Sidecar container restart|RestartAllContainersWithKubeletRestarts)',
      String.raw`\[sig-node\] (Restart|Kubelet Config|StaticPod|MirrorPod|Unknown Pods|Pods status phase|OSArchLabelReconciliation)`,
      String.raw`\[sig-node\] (ReloadKubeletClientCAFileTest|KubletTLS|Kubelet Endpoints|user namespaces kubeconfig)`,
    ],
    skip: [],
    labelFilter: 'Serial && !Flaky',
    processes: 1,
  },
  {
    name: 'node-limits',
    suite: 'node',
    contents: 'critical pods, limits of nodes and pods, probes under stress, cgroups',
    focus: [
      String.raw`\[sig-node\] (CriticalPod|Probe Stress|PodPidsLimit|OOMKiller|Node Container Manager|Container Manager Misc)`,
      String.raw`\[sig-node\] (Cgroup reconciliation|SeccompDefault|DefaultPodSysctls)`,
    ],
    skip: [],
    labelFilter: 'Serial && !Flaky',
    processes: 1,
  },
  {
    name: 'node-collection',
    suite: 'node',
    contents: 'garbage collection of containers and images, log rotation',
    focus: [String.raw`\[sig-node\] (GarbageCollect|ImageGarbageCollect|ContainerLogRotation|ImageGCNoEviction|ImageGCTerminatedPods)`],
    skip: [],
    labelFilter: 'Serial && !Flaky',
    processes: 1,
  },
  {
    name: 'node-apis',
    suite: 'node',
    contents: 'the gRPC endpoints of the node that are built',
    focus: ['Kubelet Pods API', String.raw`POD Resources API.*querying /metrics`],
    skip: [],
    labelFilter: 'Serial && !Flaky',
    processes: 1,
  },
  {
    name: 'node-eviction',
    suite: 'node',
    contents: 'evictions, of which those for memory and inodes need a guest',
    focus: [String.raw`\[sig-node\] (LocalStorage\w*Eviction|PriorityLocalStorageEviction|SystemNodeCriticalPod)`],
    skip: ['FSQuotaMonitoring'],
    labelFilter: 'Serial && !Flaky',
    processes: 1,
  },
  {
    name: 'guest-resizes',
    suite: 'guest',
    contents: 'in-place resizes of volumes in memory with cgroup v2, also with slow calls of the runtime',
    focus: ['Pod InPlace Resize Memory-Backed Volume'],
    skip: [],
    labelFilter: '',
    processes: 1,
    featureGates: resizes.featureGates,
    criProxy: true,
  },
  {
    name: 'guest-memory',
    suite: 'guest',
    contents: 'protection and throttling of memory with cgroup v2',
    focus: [String.raw`\[sig-node\] MemoryQoS`],
    skip: [],
    labelFilter: '',
    processes: 1,
  },
];

/** Tests of this folder alone: the node suite contains those of test/e2e/common once more. */
export function focusFiles({ suite }: Pick<TestList, 'suite'>): readonly string[] {
  return suite === 'node' ? ['/test/e2e_node/'] : [];
}

export function suiteProgram({ suite }: Pick<TestList, 'suite'>): 'e2e.test' | 'e2e_node.test' {
  return suite === 'cluster' ? 'e2e.test' : 'e2e_node.test';
}
