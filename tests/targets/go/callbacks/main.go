// Go calls C, which calls Go, which calls C, which calls Go again: first and second use 60 and 40 %
// of the worker's CPU time, and the program says at its end what they used, in seconds. The same
// from a thread that C has created, and in a thread that waits in the innermost C function.
package main

/*
#cgo LDFLAGS: -pthread
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static volatile long calls;
static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}
void first(int times, int waits);
void second(int times, int waits);
void foreign(void);
// What follows each call keeps the compiler from jumps, which leave no frame.
__attribute__((noinline)) static void call_first(int times, int waits) { first(times, waits); ++calls; }
__attribute__((noinline)) static void call_second(int times, int waits) { second(times, waits); ++calls; }
__attribute__((noinline)) static void wait_in_c(void) { for (;;) pause(); }
static void *run_foreign(void *unused) { foreign(); ++calls; return unused; }
static void start_foreign(void) { pthread_t thread; pthread_create(&thread, 0, run_foreign, 0); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
)

var (
	sink  int
	ended atomic.Bool
	used  [2]float64
)

//go:noinline
func burn(seconds float64, which int) {
	begin := float64(C.cpu_seconds())
	for float64(C.cpu_seconds()) < begin+seconds {
		for i := 0; i < 20000; i++ {
			sink += i % 7
		}
	}
	used[which] += float64(C.cpu_seconds()) - begin
}

//go:noinline
func sixty() { burn(0.003, 0) }

//go:noinline
func forty() { burn(0.002, 1) }

//export first
func first(times C.int, waits C.int) {
	if waits == 0 {
		sixty()
	}
	goOn(times, waits)
}

//go:noinline
func goOn(times C.int, waits C.int) {
	C.call_second(times, waits)
}

//export second
func second(times C.int, waits C.int) {
	if waits != 0 {
		C.wait_in_c()
	}
	forty()
}

//export foreign
func foreign() {
	for !ended.Load() {
		C.cpu_seconds()
		spin()
	}
}

//go:noinline
func spin() {
	for i := 0; i < 20000; i++ {
		_ = C.cpu_seconds()
	}
}

//go:noinline
func waits() {
	runtime.LockOSThread()
	C.call_first(1, 1)
}

//go:noinline
func work() { C.call_first(1, 0) }

func worker(done chan bool) {
	runtime.LockOSThread()
	for !ended.Load() {
		work()
	}
	done <- true
}

func main() {
	done := make(chan bool)
	go worker(done)
	go waits()
	C.start_foreign()
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
	ended.Store(true)
	<-done
	fmt.Println(used[0], used[1])
}
