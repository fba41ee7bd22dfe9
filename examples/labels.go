// A Go program whose goroutine has labels, if it was started with the preload.
// usage: CGO_CFLAGS=-I/usr/local/include go build -o labels labels.go
//
//	swipr record -o app.swipr -- ./labels && swipr report app.swipr
package main

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include <swipr/swipr.h>
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// WithLabel gives the goroutine's thread a label while work runs.
func WithLabel(key, value string, work func()) {
	runtime.LockOSThread() // labels belong to threads
	defer runtime.UnlockOSThread()
	k, v := C.CString(key), C.CString(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	scope := (*C.struct_swipr_label_scope)(C.malloc(C.sizeof_struct_swipr_label_scope))
	defer C.free(unsafe.Pointer(scope))
	C.swipr_label_begin(scope, k, v)
	defer C.swipr_label_end(scope)
	work()
}

var sum uint64

func burn(count uint64) {
	for number := uint64(0); number < count*60_000_000; number++ {
		sum = sum*31 ^ number
	}
}

func main() {
	WithLabel("share", "ten", func() { burn(2) })
	WithLabel("share", "twenty", func() { burn(4) })
	WithLabel("share", "seventy", func() { burn(14) })
	if C.swipr_is_present() == 1 {
		fmt.Println("labelled")
	} else {
		fmt.Println("not started with the preload")
	}
}
