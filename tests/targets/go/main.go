// The worker's functions use 70, 20 and 10 % of its CPU time, and the program says at its end what
// they used, in seconds. The second one computes in C, the third one is called by C.
package main

/*
#include <time.h>
static volatile long sink;
static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}
static void burn_in_c(double seconds) {
  double until = cpu_seconds() + seconds;
  while (cpu_seconds() < until)
    for (int i = 0; i < 1000; i++) sink += i;
}
void ten(void);
static void call_ten(void) { ten(); }
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
	used  [3]float64
)

//go:noinline
func burn(seconds float64) {
	until := float64(C.cpu_seconds()) + seconds
	for float64(C.cpu_seconds()) < until {
		for i := 0; i < 50000; i++ {
			sink += i % 7 // line of burn
		}
	}
}

//go:noinline
func seventy() { burn(0.007) }

//go:noinline
func twenty() { C.burn_in_c(0.002) }

//export ten
func ten() { burn(0.001) }

func timed(which int, work func()) {
	begin := C.cpu_seconds()
	work()
	used[which] += float64(C.cpu_seconds() - begin)
}

func worker(done chan bool) {
	runtime.LockOSThread()
	for !ended.Load() {
		timed(0, seventy)
		timed(1, twenty)
		timed(2, func() { C.call_ten() })
	}
	done <- true
}

func main() {
	done := make(chan bool)
	go worker(done)
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
	ended.Store(true)
	<-done
	fmt.Println(used[0], used[1], used[2])
}
