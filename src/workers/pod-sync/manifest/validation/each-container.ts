/** Lists all containers of a pod with their field paths, in the API's order: init containers first. */
import type { Container, PodSpec } from '../../../../shared/kubernetes/api.ts';

export function eachContainer(spec: PodSpec, path: string): { readonly container: Container; readonly path: string }[] {
  const { initContainers = [], containers, ephemeralContainers = [] } = spec;
  return Object.entries({ initContainers, containers, ephemeralContainers }).flatMap(([list, members]) =>
    members.map((container, index) => ({ container, path: `${path}.${list}[${index}]` })),
  );
}
