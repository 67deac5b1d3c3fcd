/** Rounds resource lists like the API's defaults, the only place where the API reduces the precision of a quantity. */
import { formatQuantity, parseQuantity } from '../../../../shared/kubernetes/quantity.ts';

/** The API does not represent resources below one thousandth. */
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
