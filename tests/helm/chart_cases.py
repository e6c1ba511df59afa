"""What the charts are to render: rights, objects for each set of values, and values that are
refused. Tables only; chart_test.py holds the charts against them."""

from chart import merged

READ = {"get", "list", "watch"}
CHILD = READ | {"create", "patch", "delete"}
RIGHTS = {  # all that the operator may do in a namespace that it watches
    ("serving.kantha.dev", "modelservings"): READ | {"patch"},
    ("serving.kantha.dev", "modelservings/status"): {"patch"},
    ("serving.kantha.dev", "modelservings/scale"): {"patch"},
    ("serving.kantha.dev", "modelservings/finalizers"): {"update"},
    ("", "pods"): CHILD,
    ("", "services"): CHILD,
    ("", "serviceaccounts"): CHILD,
    ("", "configmaps"): CHILD,
    ("policy", "poddisruptionbudgets"): CHILD,
    ("autoscaling", "horizontalpodautoscalers"): CHILD,
    ("", "secrets"): {"get", "create", "patch"},
    ("", "persistentvolumeclaims"): {"get"},
    ("", "events"): {"list", "create", "patch"},
}
CLUSTER_RIGHTS = RIGHTS | {("", "nodes"): {"get"}}  # where it watches every namespace
ACTIVATOR_RIGHTS = {  # beside RIGHTS, where there are activators
    ("discovery.k8s.io", "endpointslices"): {"get", "create", "patch", "delete"}}
UNINSTALL_RIGHTS = {("apps", "deployments/scale"): {"patch"},  # beside RIGHTS, while its Job runs
                    ("coordination.k8s.io", "leases"): {"get", "delete"}}
UNINSTALL = {f"{kind}/kantha-operator-uninstall"
             for kind in ("Job", "Role", "RoleBinding", "NetworkPolicy")}
LEASE_RIGHTS = {("coordination.k8s.io", "leases"): {"get", "create", "update", "patch"}}

ALWAYS = {"Deployment/kantha-operator", "Service/kantha-operator",
          "ServiceAccount/kantha-operator", "NetworkPolicy/kantha-operator",
          "PodDisruptionBudget/kantha-operator", "Role/kantha-operator-lease",
          "RoleBinding/kantha-operator-lease"}
CLUSTER_WIDE = {"ClusterRole/kantha-operator", "ClusterRoleBinding/kantha-operator"}
DEFAULT = ALWAYS | CLUSTER_WIDE
TEAMS = {"watchNamespaces": ["team-a", "team-b"]}
TEAM_ROLES = {f"{kind}/{team}/kantha-operator" for kind in ("Role", "RoleBinding")
              for team in TEAMS["watchNamespaces"]}
DIGEST = "sha256:" + "0123456789abcdef" * 4
PEER = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
         "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}}]
GUARDED = {"networkPolicy": {"models": {"enabled": True, "namespaces": ["a", "b"]}}}
MONITORED = {"monitoring": {"serviceMonitor": {"enabled": True, "labels": {"release": "prom"}},
                            "podMonitor": {"enabled": True}}}
WATCHED = {"monitoring": {"prometheusRule": {"enabled": True, "labels": {"release": "prom"}},
                          "dashboard": {"enabled": True}}}

METRICS = {"Secret/kantha-operator-metrics-tls", "ClusterRole/kantha-operator-metrics-reader",
           "ClusterRoleBinding/kantha-operator-metrics-reader",
           "ClusterRoleBinding/kantha-operator-auth-delegator",
           "RoleBinding/kube-system/kantha-operator-auth-reader",
           "APIService/v1beta1.custom.metrics.k8s.io", "APIService/v1beta2.custom.metrics.k8s.io"}

ACTIVATOR = {f"{kind}/kantha-operator-activator"
             for kind in ("Secret", "Service", "Deployment", "PodDisruptionBudget",
                          "NetworkPolicy", "Role", "RoleBinding")}

# (what is so, values, the objects that come out)
CASES = [
    ("the defaults watch every namespace", {}, DEFAULT),
    ("a list of namespaces has a role in each", TEAMS, ALWAYS | TEAM_ROLES),
    ("the release's own namespace may be watched", {"watchNamespaces": ["kantha-system"]},
     ALWAYS | {"Role/kantha-operator", "RoleBinding/kantha-operator"}),
    ("namespaces named by digits stay text", {"watchNamespaces": ["123", "0x10", "1e3"]},
     ALWAYS | {f"{kind}/{n}/kantha-operator" for kind in ("Role", "RoleBinding")
               for n in ("123", "0x10", "1e3")}),
    ("the metrics API is served on request", {"metricsApi": {"enabled": True}}, DEFAULT | METRICS),
    ("external metrics as well", {"metricsApi": {"enabled": True, "external": True}},
     DEFAULT | METRICS | {"APIService/v1beta1.external.metrics.k8s.io"}),
    ("with somebody else's certificate",
     {"metricsApi": {"enabled": True, "secretName": "tls", "caBundle": "PEM"}},
     DEFAULT | METRICS - {"Secret/kantha-operator-metrics-tls"}),
    ("activators on request", {"activator": {"enabled": True}}, DEFAULT | ACTIVATOR),
    ("activators beside the metrics API, in some namespaces",
     merged(TEAMS, {"activator": {"enabled": True}, "metricsApi": {"enabled": True}}),
     ALWAYS | TEAM_ROLES | METRICS | ACTIVATOR),
    ("one activator has no budget", {"activator": {"enabled": True, "replicas": 1}},
     DEFAULT | ACTIVATOR - {"PodDisruptionBudget/kantha-operator-activator"}),
    ("activators reach guarded model pods",
     merged(GUARDED, {"activator": {"enabled": True},
                      "networkPolicy": {"models": {"apiFrom": PEER}}}),
     DEFAULT | ACTIVATOR | {"NetworkPolicy/a/kantha-models", "NetworkPolicy/b/kantha-models"}),
    ("one replica has no budget", {"replicas": 1}, DEFAULT - {"PodDisruptionBudget/kantha-operator"}),
    ("no budget on request", {"podDisruptionBudget": {"enabled": False}},
     DEFAULT - {"PodDisruptionBudget/kantha-operator"}),
    ("without election there is no right to leases",
     {"replicas": 1, "leaderElection": {"enabled": False}},
     DEFAULT - {"PodDisruptionBudget/kantha-operator", "Role/kantha-operator-lease",
                "RoleBinding/kantha-operator-lease"}),
    ("roles may be somebody else's", {"rbac": {"create": False}},
     ALWAYS - {"Role/kantha-operator-lease", "RoleBinding/kantha-operator-lease"}),
    ("roles in namespaces may be somebody else's", merged(TEAMS, {"rbac": {"create": False}}),
     ALWAYS - {"Role/kantha-operator-lease", "RoleBinding/kantha-operator-lease"}),
    ("the account may be there already", {"serviceAccount": {"create": False, "name": "robot"}},
     DEFAULT - {"ServiceAccount/kantha-operator"}),
    ("the account may have another name", {"serviceAccount": {"name": "robot"}},
     DEFAULT - {"ServiceAccount/kantha-operator"} | {"ServiceAccount/robot"}),
    ("the account has annotations", {"serviceAccount": {"annotations": {"a.example.com/role": "x"}}},
     DEFAULT),
    ("the operator's policy can be left out", {"networkPolicy": {"operator": {"enabled": False}}},
     DEFAULT - {"NetworkPolicy/kantha-operator"}),
    ("the operator's policy takes addresses and peers",
     {"networkPolicy": {"operator": {"apiServerCidrs": ["10.0.0.1/32", "fd00::/8"],
                                     "apiServerPorts": [6443], "metricsFrom": PEER}}}, DEFAULT),
    ("model pods are guarded where named", GUARDED,
     DEFAULT | {"NetworkPolicy/a/kantha-models", "NetworkPolicy/b/kantha-models"}),
    ("model pods are guarded in the watched namespaces",
     merged(TEAMS, {"networkPolicy": {"models": {"enabled": True}}}),
     ALWAYS | TEAM_ROLES | {"NetworkPolicy/team-a/kantha-models",
                            "NetworkPolicy/team-b/kantha-models"}),
    ("model pods are guarded with peers",
     merged(GUARDED, {"networkPolicy": {"models": {"apiFrom": PEER, "metricsFrom": PEER}}}),
     DEFAULT | {"NetworkPolicy/a/kantha-models", "NetworkPolicy/b/kantha-models"}),
    ("monitors", MONITORED,
     DEFAULT | {"ServiceMonitor/kantha-operator", "PodMonitor/kantha-operator-models"}),
    ("monitors of some namespaces", merged(TEAMS, MONITORED),
     ALWAYS | TEAM_ROLES | {"ServiceMonitor/kantha-operator", "PodMonitor/kantha-operator-models"}),
    ("alerts and a dashboard", WATCHED,
     DEFAULT | {"PrometheusRule/kantha-operator", "ConfigMap/kantha-operator-dashboard"}),
    ("a test pod", {"helmTest": {"enabled": True, "image": "example.com/busybox:1.37"}},
     DEFAULT | {"Pod/kantha-operator-ready"}),
    ("another name", {"fullnameOverride": "op"},
     {o.replace("kantha-operator", "op") for o in ALWAYS} | CLUSTER_WIDE),
    ("another name of the lease", {"leaderElection": {"leaseName": "my.lease"}}, DEFAULT),
    ("images by digest", {"images": {i: {"digest": DIGEST, "tag": "ignored"}
                                     for i in ("operator", "noded", "engine")}}, DEFAULT),
    ("images of a mirror, with secrets",
     {"images": {"registry": "mirror.example.com:5000/kantha/", "pullPolicy": "Always",
                 "pullSecrets": ["pull", "pull.two"]}}, DEFAULT),
    ("images without a registry", {"images": {"registry": ""}}, DEFAULT),
    ("scheduling", {"nodeSelector": {"kubernetes.io/os": "linux"},
                    "tolerations": [{"key": "infra", "operator": "Exists", "effect": "NoSchedule"},
                                    {"operator": "Exists", "effect": "NoExecute",
                                     "tolerationSeconds": 5}],
                    "affinity": {"podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {
                                "matchLabels": {"app.kubernetes.io/name": "kantha-operator"}}}]}},
                    "priorityClassName": "system-cluster-critical"}, DEFAULT),
    ("a spread of one's own", {"topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": {"a": "b"}}}]}, DEFAULT),
    ("labels and annotations", {"podLabels": {"cost-centre": "7"}, "commonLabels": {"team": "ml"},
                                "podAnnotations": {"example.com/a": "with: colon # and hash\n"}},
     DEFAULT),
    ("labels of a user do not replace selectors",
     {"podLabels": {"app.kubernetes.io/name": "evil", "app.kubernetes.io/instance": "evil"},
      "commonLabels": {"app.kubernetes.io/instance": "evil"}}, DEFAULT),
    ("numbers", {"workers": 1, "qps": 10000, "burst": 20000, "logLevel": "debug",
                 "terminationGracePeriodSeconds": 600}, DEFAULT),
    ("a shared folder for weights", {"modelCache": {"hostPath": "/models", "quotaBytes": 1}}, DEFAULT),
    ("more arguments", {"extraArgs": ["--a=b c", "--quote=\"'{{ x }}'"]}, DEFAULT),
    ("own resources", {"resources": {"requests": {"cpu": 1, "memory": "100M"},
                                     "limits": {"cpu": "1500m", "memory": "1Gi"}}}, DEFAULT),
    ("a switched-off check of ownership", {"ownership": {"check": False}}, DEFAULT),
    ("another chart's globals", {"global": {"imageRegistry": "x"}}, DEFAULT),
]

# (values, what the message names)
REFUSALS = [
    ({"replicaCount": 2}, "replicaCount"),
    ({"images": {"engine": {"pullPolicy": "Always"}}}, "pullPolicy"),
    ({"networkPolicy": {"enabled": True}}, "enabled"),
    ({"monitoring": {"podMonitor": {"namespaces": []}}}, "namespaces"),
    ({"affinity": {"nodeAntiAffinity": {}}}, "nodeAntiAffinity"),
    ({"tolerations": [{"keys": "a"}]}, "keys"),
    ({"resources": {"request": {}}}, "request"),
    ({"networkPolicy": {"models": {"apiFrom": [{"pods": {}}]}}}, "pods"),
    ({"networkPolicy": {"models": {"apiFrom": [{}]}}}, "/networkPolicy/models/apiFrom/0"),
    ({"replicas": 0}, "/replicas"),
    ({"replicas": 3}, "/replicas"),
    ({"replicas": "2"}, "/replicas"),
    ({"replicas": 1.5}, "/replicas"),
    ({"watchNamespaces": "team-a"}, "/watchNamespaces"),
    ({"watchNamespaces": ["Team"]}, "/watchNamespaces/0"),
    ({"watchNamespaces": ["a.b"]}, "/watchNamespaces/0"),
    ({"watchNamespaces": ["a", "a"]}, "/watchNamespaces"),
    ({"watchNamespaces": ["*"]}, "/watchNamespaces/0"),
    ({"watchNamespaces": ["n" * 64]}, "/watchNamespaces/0"),
    ({"images": {"engine": {"digest": "sha256:12"}}}, "/images/engine/digest"),
    ({"images": {"noded": {"tag": "a b"}}}, "/images/noded/tag"),
    ({"images": {"noded": {"repository": ""}}}, "/images/noded/repository"),
    ({"images": {"registry": "https://example.com"}}, "/images/registry"),
    ({"images": {"operator": {"tag": 1.10}}}, "/images/operator/tag"),
    ({"images": {"operator": {"tag": "latest"}}}, "images.operator.tag"),
    ({"images": {"pullPolicy": "Sometimes"}}, "/images/pullPolicy"),
    ({"logLevel": "loud"}, "/logLevel"),
    ({"activator": {"holdSeconds": 0}}, "/activator/holdSeconds"),
    ({"activator": {"replicas": 0}}, "/activator/replicas"),
    ({"activator": {"image": "x"}}, "image"),
    ({"qps": -1}, "/qps"),
    ({"modelCache": {"hostPath": "models"}}, "/modelCache/hostPath"),
    ({"modelCache": {"quotaBytes": -1}}, "/modelCache/quotaBytes"),
    ({"modelCache": {"path": "/a"}}, "path"),
    ({"extraArgs": ["-x"]}, "/extraArgs/0"),
    ({"extraArgs": "--x"}, "/extraArgs"),
    ({"podLabels": {"a": 1}}, "/podLabels/a"),
    ({"podAnnotations": ["a"]}, "/podAnnotations"),
    ({"resources": {"limits": {"memory": "lots"}}}, "/resources/limits/memory"),
    ({"fullnameOverride": "1st"}, "/fullnameOverride"),
    ({"networkPolicy": {"operator": {"apiServerPorts": [70000]}}}, "apiServerPorts/0"),
    ({"networkPolicy": {"operator": {"apiServerPorts": []}}}, "apiServerPorts"),
    ({"networkPolicy": {"operator": {"apiServerCidrs": ["10.0.0.1"]}}}, "apiServerCidrs/0"),
    ({"networkPolicy": {"models": {"enabled": True}}}, "networkPolicy.models.namespaces"),
    (merged(TEAMS, GUARDED), "networkPolicy.models.namespaces: a"),
    ({"leaderElection": {"enabled": False}}, "leaderElection.enabled"),
    ({"uninstall": {"timeoutSeconds": 5}}, "/uninstall/timeoutSeconds"),
    ({"uninstall": {"hooks": False}}, "hooks"),
    ({"helmTest": {"enabled": True}}, "helmTest.image"),
    ({"helmTest": {"enabled": True, "image": "busybox"}}, "/helmTest/image"),
    ({"monitoring": {"serviceMonitor": {"interval": "often"}}}, "serviceMonitor/interval"),
    ({"terminationGracePeriodSeconds": 0}, "/terminationGracePeriodSeconds"),
]
