/** Parts of the generators of operations, for the bundle and for the modelled node. */
import * as fc from 'fast-check';

/** The calls of the runtime that can fail. */
export const faultyCalls = [
  'RunPodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'StopPodSandbox',
  'RemovePodSandbox',
  'ContainerStatus',
  'PodSandboxStatus',
  'ListContainers',
  'ListPodSandbox',
  'ExecSync',
];

/** Generates operations of one type. */
export function record<Type extends string, Fields extends object>(
  type: Type,
  fields: { readonly [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): fc.Arbitrary<{ readonly type: Type } & Fields> {
  return fc.record({ type: fc.constant(type), ...fields }) as never;
}
