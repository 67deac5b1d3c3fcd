/**
 * A function that early parts call, and that a later part provides: threads that serve requests start before the parts that answer them. Until the later
 * part exists, `before` answers. Returns the function, and a second one with which the later part provides its answer, once. If nobody uses the second one,
 * the code does not compile (noUnusedLocals).
 */
export function providedLater<Answer extends (...args: never[]) => unknown>(
  before: Answer,
): readonly [ask: Answer, provide: (answer: Answer) => void] {
  let answer = before;
  const ask = ((...args: never[]) => answer(...args)) as Answer;
  const provide = (provided: Answer) => {
    if (answer !== before) throw new Error('the function is provided already');
    answer = provided;
  };
  return [ask, provide];
}
