package cgroups

// VectorHost replaces what this package reads from the host.
func VectorHost(unified bool) {
	isUnifiedOnce.Do(func() {})
	isUnified = unified
	initHPSOnce.Do(func() {})
	hugePageSizes = []string{"2MB", "1GB"}
}
