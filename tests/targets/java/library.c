// The native methods of Native.java.
#include <jni.h>
__attribute__((noinline)) static void native_middle(JNIEnv* env, jclass type) {
  (*env)->CallStaticVoidMethod(env, type, (*env)->GetStaticMethodID(env, type, "back", "()V"));
  __asm__ volatile("");
}
JNIEXPORT void JNICALL Java_Native_enter(JNIEnv* env, jclass type) {
  native_middle(env, type);
  __asm__ volatile("");
}
