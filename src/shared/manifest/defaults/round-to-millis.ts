/** The one place where the API makes a quantity coarser. */
import { formatQuantity, parseQuantity } from '../../kubernetes/quantity.ts';

/** No resource is counted finer than by thousandths. */
export function roundToMillis(list: Record<string, string> | undefined): void {
  const nanosPerMilli = 1_000_000n;
  for (const [name, text] of Object.entries(list ?? {})) {
    const { nanos, format } = parseQuantity(text);
    const rest = nanos % nanosPerMilli;
    if (rest === 0n || !list) continue;
    const awayFromZero = nanos - rest + (rest < 0n ? -nanosPerMilli : nanosPerMilli);
    list[name] = formatQuantity({ nanos: awayFromZero, format });
  }
}
