// embedding LIBJVM CLASS_PATH CLASS [ARGUMENT]: a program of C that starts a Java virtual machine
// (JNI_CreateJavaVM) and calls CLASS.main(ARGUMENT).
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>

typedef jint (*CreateVm)(JavaVM** vm, void** env, void* arguments);

__attribute__((noinline)) static int host_main(JNIEnv* env, const char* name, int count, char** values) {
  const jclass type = (*env)->FindClass(env, name);
  if (type == NULL) return 3;
  const jobjectArray list = (*env)->NewObjectArray(env, count, (*env)->FindClass(env, "java/lang/String"), NULL);
  for (int at = 0; at < count; ++at) {
    (*env)->SetObjectArrayElement(env, list, at, (*env)->NewStringUTF(env, values[at]));
  }
  const jmethodID main = (*env)->GetStaticMethodID(env, type, "main", "([Ljava/lang/String;)V");
  (*env)->CallStaticVoidMethod(env, type, main, list);
  return (*env)->ExceptionCheck(env) ? 4 : 0;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  void* const library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 5;
  CreateVm create;
  *(void**)&create = dlsym(library, "JNI_CreateJavaVM");
  char class_path[4096];
  snprintf(class_path, sizeof class_path, "-Djava.class.path=%s", argv[2]);
  JavaVMOption options[] = {{class_path, NULL}, {"-Xmx128m", NULL}};
  JavaVMInitArgs arguments = {JNI_VERSION_1_8, 2, options, JNI_FALSE};
  JavaVM* vm;
  JNIEnv* env;
  if (create(&vm, (void**)&env, &arguments) != JNI_OK) return 6;
  const int result = host_main(env, argv[3], argc - 4, argv + 4);
  (*vm)->DestroyJavaVM(vm);
  return result;
}
