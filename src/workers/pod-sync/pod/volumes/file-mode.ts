/** The mode of files that the kubelet writes into volumes: the API server's default. */
export const defaultFileMode = 0o644;
