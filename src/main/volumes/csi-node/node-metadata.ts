/** The annotation and the labels of the Node for CSI drivers (upstream pkg/volume/csi/nodeinfomanager updateNodeIDInNode, updateTopologyLabels). Pure. */

type Texts = Readonly<Record<string, string>>;

export interface NodeMetadata {
  readonly annotations?: Texts;
  readonly labels?: Texts;
}

/** A merge patch of the metadata; null removes an annotation. */
export interface NodeMetadataPatch {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly labels?: Texts;
}

const annotation = 'csi.volume.kubernetes.io/nodeid';

/** Returns null when the Node has everything. Throws an Error for a label with another value, and for an annotation that is not readable. */
export function installPatch(
  { annotations, labels = {} }: NodeMetadata,
  driver: string,
  nodeID: string,
  topology: Texts,
): NodeMetadataPatch | null {
  const nodeIDs = parseNodeIDs(annotations?.[annotation]);
  for (const [key, value] of Object.entries(topology)) {
    const current = labels[key];
    if (current !== undefined && current !== value)
      throw new Error(`detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${current}"`);
  }
  const newLabels = Object.fromEntries(Object.entries(topology).filter(([key]) => labels[key] === undefined));
  const addsLabels = Object.keys(newLabels).length > 0;
  if (nodeIDs[driver] === nodeID && !addsLabels) return null;
  return {
    ...(nodeIDs[driver] !== nodeID && { annotations: { [annotation]: toText({ ...nodeIDs, [driver]: nodeID }) } }),
    ...(addsLabels && { labels: newLabels }),
  };
}

/** Returns null when the Node does not have the driver. Throws an Error for an annotation that is not readable. */
export function uninstallPatch({ annotations }: NodeMetadata, driver: string): NodeMetadataPatch | null {
  const { [driver]: removed, ...others } = parseNodeIDs(annotations?.[annotation]);
  if (removed === undefined) return null;
  return { annotations: { [annotation]: Object.keys(others).length === 0 ? null : toText(others) } };
}

function parseNodeIDs(text: string | undefined): Texts {
  if (text === undefined || text === '') return {};
  try {
    return JSON.parse(text) as Texts;
  } catch (err) {
    throw new Error(
      `failed to parse node's ${JSON.stringify(annotation)} annotation value (${JSON.stringify(text)}) err=${(err as Error).message}`,
      { cause: err },
    );
  }
}

/** As Go writes a map: by name. */
function toText(nodeIDs: Texts): string {
  return JSON.stringify(Object.fromEntries(Object.entries(nodeIDs).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}
