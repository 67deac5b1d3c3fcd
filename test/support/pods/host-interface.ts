import type { HostInterface } from '../../../src/main/node/addresses/host-interfaces.ts';
import { parseIP } from '../../../src/main/node/addresses/ip-address.ts';

/** An interface that is up. The one named `lo` is the loopback interface. */
export function aHostInterface(name: string, addresses: readonly string[], changes: Partial<HostInterface> = {}): HostInterface {
  return {
    name,
    isUp: true,
    isLoopback: name === 'lo',
    isPointToPoint: false,
    addresses: addresses.map((address) => parseIP(address)!),
    ...changes,
  };
}
