/** Names of logind's D-Bus interface (org.freedesktop.login1(5)). */
export const logind = {
  service: 'org.freedesktop.login1',
  path: '/org/freedesktop/login1',
  managerInterface: 'org.freedesktop.login1.Manager',
} as const;
