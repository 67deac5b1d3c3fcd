package app

import "context"

// VectorEvictionHard returns the hard thresholds of a configuration file, for the program that writes expected values.
func VectorEvictionHard(path string) (map[string]string, error) {
	config, err := loadConfigFile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	return config.EvictionHard, nil
}
