/**
 * Applies the defaults of requests and limits to Go quantities (upstream pkg/apis/core/v1/defaults.go SetDefaults_Pod). The pods that run
 * get these defaults in defaults/. The UID needs a second computation, because the dump of a Go quantity shows how a sum was computed.
 */
import { isPodLevelResource } from '../../../../shared/kubernetes/pod-resources.ts';
import { addResources, completeResources, raiseResources, readResourceList, type GoResourceList } from './resource-list.ts';

type Fields = Readonly<Record<string, unknown>>;
type Kind = 'requests' | 'limits';

interface Resources {
  readonly limits: GoResourceList | null;
  readonly requests: GoResourceList | null;
}
interface Container {
  readonly isSidecar: boolean;
  readonly resources: Resources;
}

/** Returns the document's spec with parsed and completed resource lists, each as a Map. */
export function defaultResources(spec: Fields, completesPodLevel: boolean): Fields {
  const containers = listOf(spec['containers']).map(readContainer);
  const initContainers = listOf(spec['initContainers']).map(readContainer);
  const podLevel = (given: Resources) => (completesPodLevel ? defaultPodLevel(given, containers, initContainers) : given);
  return {
    ...spec,
    ...withContainers('containers', spec, containers),
    ...withContainers('initContainers', spec, initContainers),
    ...(isObject(spec['resources']) && {
      resources: { ...spec['resources'], ...podLevel(readResources(spec['resources'])) },
    }),
  };
}

function readContainer(given: Fields): Container {
  const { limits, requests } = readResources(given['resources']);
  if (!limits) return { isSidecar: given['restartPolicy'] === 'Always', resources: { limits, requests } };
  const completed: GoResourceList = new Map(requests);
  completeResources(completed, limits);
  return { isSidecar: given['restartPolicy'] === 'Always', resources: { limits, requests: completed } };
}

function withContainers(name: string, spec: Fields, containers: readonly Container[]): Fields {
  if (!Array.isArray(spec[name])) return {};
  const given = listOf(spec[name]);
  return {
    [name]: containers.map(({ resources }, index) => ({
      ...given[index],
      resources: { ...fieldsOf(given[index]?.['resources']), ...resources },
    })),
  };
}

/** Completes pod-level resources: hugepage limits come from the containers, requests from the containers or the limits. */
function defaultPodLevel(given: Resources, containers: readonly Container[], initContainers: readonly Container[]): Resources {
  let { limits, requests } = given;
  if (limits?.size || requests?.size) {
    const completed: GoResourceList = new Map(limits);
    const isWanted = (name: string) => name.startsWith('hugepages-') && !requests?.has(name);
    completeResources(completed, aggregate('limits', containers, initContainers), isWanted);
    if (completed.size > 0) limits = completed;
  }
  if (limits?.size) {
    const completed: GoResourceList = new Map(requests);
    const isWanted = (name: string) => isPodLevelResource(name) && !name.startsWith('hugepages-');
    completeResources(completed, aggregate('requests', containers, initContainers), isWanted);
    completeResources(completed, limits, isPodLevelResource);
    if (completed.size > 0) requests = completed;
  }
  return { limits, requests };
}

/** Returns the greater of the sum of containers and sidecars, and the peak of the init containers. */
function aggregate(kind: Kind, containers: readonly Container[], initContainers: readonly Container[]): GoResourceList {
  const sum: GoResourceList = new Map();
  for (const { resources } of containers) addResources(sum, resources[kind] ?? new Map());
  const sidecars: GoResourceList = new Map();
  const initPeak: GoResourceList = new Map();
  for (const { isSidecar, resources } of initContainers) {
    const listOfKind: GoResourceList = resources[kind] ?? new Map();
    if (isSidecar) {
      addResources(sum, listOfKind);
      addResources(sidecars, listOfKind);
      raiseResources(initPeak, sidecars);
      continue;
    }
    const concurrent: GoResourceList = new Map(listOfKind);
    addResources(concurrent, sidecars);
    raiseResources(initPeak, concurrent);
  }
  raiseResources(sum, initPeak);
  return sum;
}

function readResources(given: unknown): Resources {
  const { limits, requests } = fieldsOf(given);
  return { limits: readResourceList(limits), requests: readResourceList(requests) };
}

function listOf(given: unknown): readonly Fields[] {
  return Array.isArray(given) ? given.map(fieldsOf) : [];
}

function fieldsOf(given: unknown): Fields {
  return isObject(given) ? given : {};
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
