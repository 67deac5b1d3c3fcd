/** Fields of a Node's status that another client writes and the kubelet keeps: a condition and an extended resource. */
export function foreignStatus(dongles: number) {
  const condition = {
    type: 'Foreign',
    status: 'True',
    reason: 'R',
    message: 'M',
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  return { status: { conditions: [condition], capacity: { 'example.com/dongle': String(dongles) } } };
}
