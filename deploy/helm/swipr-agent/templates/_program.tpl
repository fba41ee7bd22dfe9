{{- define "swipr.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "swipr.labels" -}}
app.kubernetes.io/name: swipr-agent
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /*
Parts of the pod of a program, for charts that name this one in their `dependencies`:

  initContainers: {{- include "swipr.program.initContainer" "swipr:0.1.0" | nindent 8 }}
  containers:
    - name: shop
      env: {{- include "swipr.program.env" "shop" | nindent 12 }}
      volumeMounts: {{- include "swipr.program.mounts" . | nindent 12 }}
  volumes: {{- include "swipr.program.volumes" . | nindent 8 }}
*/}}
{{- define "swipr.program.initContainer" -}}
- name: swipr-preload
  image: {{ . }}
  command: ["/bin/sh", "-c", "install -m 0755 \"$(swipr preload-path)\" /swipr/"]
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: ["ALL"]}
  volumeMounts:
    - {name: swipr, mountPath: /swipr}
{{- end }}

{{- define "swipr.program.env" -}}
- {name: LD_PRELOAD, value: /swipr/libswipr_preload.so}
- {name: SWIPR_SOCKET_DIR, value: "/run/swipr/{UID}"}
- {name: SWIPR_SERVICE_NAME, value: {{ . }}}
{{- end }}

{{- define "swipr.program.mounts" -}}
- {name: swipr, mountPath: /swipr, readOnly: true}
- {name: sockets, mountPath: /run/swipr}
{{- end }}

{{- define "swipr.program.volumes" -}}
- {name: swipr, emptyDir: {}}
- name: sockets
  hostPath: {path: /run/swipr, type: Directory}
{{- end }}

{{- /*
An agent in the pod of the program instead of one per node (`agent: false`), as in
deploy/kubernetes/deployment.yaml; both containers need the same user:

  initContainers:
    {{- include "swipr.program.initContainer" "swipr:0.1.0" | nindent 8 }}
    {{- include "swipr.sidecar.container" (dict "image" "swipr:0.1.0" "push" "pyroscope+http://pyroscope:4040") | nindent 8 }}
  volumes: {{- include "swipr.sidecar.volumes" . | nindent 8 }}
*/}}
{{- define "swipr.sidecar.container" -}}
- name: swipr-agent
  image: {{ .image }}
  restartPolicy: Always
  args: ["agent", "--slice", "15s", "--spool", "/tmp/spool", "--push", {{ .push | quote }}]
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: ["ALL"]}
  env:
    - {name: SWIPR_SOCKET_DIR, value: "/run/swipr/{UID}"}
    - {name: XDG_CACHE_HOME, value: /tmp/cache}
  resources:
    requests: {cpu: 10m, memory: 64Mi}
    limits: {memory: 768Mi}
  volumeMounts:
    - {name: sockets, mountPath: /run/swipr}
    - {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "swipr.sidecar.volumes" -}}
- {name: swipr, emptyDir: {}}
- {name: sockets, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
- {name: tmp, emptyDir: {sizeLimit: 256Mi}}
{{- end }}
