/** The stop signals of Linux containers. */
const namedSignals = (
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU ' +
  'URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX'
).split(' ');
/** Real-time signals are named relative to both ends of their range. */
const fromRTMin = Array.from({ length: 15 }, (_, index) => `RTMIN+${index + 1}`);
const fromRTMax = Array.from({ length: 14 }, (_, index) => `RTMAX-${index + 1}`);

export const stopSignals: readonly string[] = [...namedSignals, ...fromRTMin, ...fromRTMax].map((name) => `SIG${name}`);
