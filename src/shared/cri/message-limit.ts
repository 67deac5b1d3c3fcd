/** The size limit of CRI messages, for the client and the list scanner. */

/** 16 MiB, as upstream's maxMsgSize (cri-client). */
export const maxMessageBytes = 16 * 1024 * 1024;
