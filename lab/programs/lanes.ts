/** Throws in a lane of the tests: it has no network, and a build takes longer than tests wait. */
export function assertMayBuild(what: string, command: string): void {
  if (process.env.KUBELET_TEST_LANE === undefined) return;
  throw new Error(`${what}: not built. Builds need a network and happen before the lanes: ${command}`);
}
