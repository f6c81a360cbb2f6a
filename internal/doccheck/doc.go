// Package doccheck holds tests that read this project's documents. Nothing
// imports it.
package doccheck
