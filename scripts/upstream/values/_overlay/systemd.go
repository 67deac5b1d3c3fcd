package systemd

import (
	systemdDbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/opencontainers/cgroups"
)

// VectorProperties returns the properties that are set on a unit, for systemd 252.
func VectorProperties(unified bool, resources *cgroups.Resources) ([]systemdDbus.Property, error) {
	versionOnce.Do(func() {})
	version = 252
	copied := *resources
	if unified {
		return genV2ResourcesProperties("/nonexistent", &copied, nil)
	}
	return genV1ResourcesProperties(&copied, nil)
}
