/** What others write into a Node's status, and a kubelet leaves there: a condition, and devices by a name of their own. */
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
