/**
 * `status.declaredFeatures`: optional behaviour that the scheduler and the API server may count on at this node. Pure. Upstream:
 * component-helpers/nodedeclaredfeatures.
 *
 * Declared is what this kubelet really does, whatever its gates say: neither resizing in place, nor user namespaces on the host's
 * network.
 */
import type { FeatureGates } from '../../config/feature-gates.ts';

/** Each is named as its gate. In order of name. */
const built = ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits'];

/** Null: the gate NodeDeclaredFeatures is off, and what the Node says stays. */
export function declaredFeatures(gates: FeatureGates): readonly string[] | null {
  return gates.enabled('NodeDeclaredFeatures') ? built.filter((name) => gates.enabled(name)) : null;
}
