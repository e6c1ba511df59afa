// Kubernetes' own client of custom metrics, the one that the HPA controller has, on the bodies that
// our server gives (../../operator/metricsapi/golden).
package metricsclient

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	customclient "k8s.io/metrics/pkg/client/custom_metrics"
	externalclient "k8s.io/metrics/pkg/client/external_metrics"
)

const golden = "../../operator/metricsapi/golden/"
const group = "/apis/custom.metrics.k8s.io"
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

var pod = schema.GroupKind{Kind: "Pod"}
var serving = schema.GroupKind{Group: "serving.kantha.dev", Kind: "ModelServing"}

// server answers as ours does.
func server(t *testing.T, withAggregated bool) *rest.Config {
	t.Helper()
	files := map[string]string{group: "group"}
	for _, version := range []string{"v1beta1", "v1beta2"} {
		space := group + "/" + version + "/namespaces/a/"
		files[group+"/"+version] = "resources." + version
		files[space+"pods/*/kv_pressure"] = "pods." + version
		files[space+"pods/*/no_such_metric"] = "missing." + version
		files[space+"modelservings.serving.kantha.dev/m/kv_pressure"] = "serving." + version
	}
	external := "/apis/external.metrics.k8s.io/v1beta1"
	files[external] = "external.resources"
	files[external+"/namespaces/a/kv_pressure"] = "external"
	files[external+"/namespaces/a/no_such_metric"] = "external.missing"
	handler := func(w http.ResponseWriter, r *http.Request) {
		name, kind := files[r.URL.Path], "application/json"
		wantsAggregated := strings.Contains(r.Header.Get("Accept"), "APIGroupDiscoveryList")
		switch {
		case r.URL.Path == "/apis" && withAggregated && wantsAggregated:
			name, kind = "aggregated", aggregated
		case r.URL.Path == "/apis":
			name = "groups"
		case strings.Contains(r.URL.Path, "/namespaces/"):
			if r.URL.Query().Get("labelSelector") == "x" {
				name = strings.Replace(name, "pods", "none", 1)
				name = strings.Replace(name, "external", "external.none", 1)
			}
		}
		body, err := os.ReadFile(golden + name + ".json")
		if name == "" || err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		if strings.Contains(name, "missing") {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(body)
	}
	web := httptest.NewServer(http.HandlerFunc(handler))
	t.Cleanup(web.Close)
	config := &rest.Config{Host: web.URL}
	// As kube-controller-manager's: protobuf first.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

func client(t *testing.T, config *rest.Config, version string) customclient.CustomMetricsClient {
	t.Helper()
	ours := serving.WithVersion("v1alpha1")
	versions := []schema.GroupVersion{corev1.SchemeGroupVersion, ours.GroupVersion()}
	mapper := meta.NewDefaultRESTMapper(versions)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(ours, meta.RESTScopeNamespace)
	out, err := customclient.NewForVersionForConfig(
		config, mapper, schema.GroupVersion{Group: "custom.metrics.k8s.io", Version: version})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMetricsOfPods(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		list, err := client(t, server(t, true), version).NamespacedMetrics("a").
			GetForObjects(pod, labels.Everything(), "kv_pressure", labels.Everything())
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		want := map[string]int64{"m-0": 850, "m-1": 2000}
		if len(list.Items) != len(want) {
			t.Fatalf("%s: %d items", version, len(list.Items))
		}
		for _, item := range list.Items {
			expectItem(t, version, item, want[item.DescribedObject.Name])
		}
	}
}

func expectItem(t *testing.T, version string, item v1beta2.MetricValue, milli int64) {
	t.Helper()
	if item.Value.MilliValue() != milli || item.Metric.Name != "kv_pressure" {
		t.Errorf("%s: %v", version, item)
	}
	if item.DescribedObject.Namespace != "a" || item.Timestamp.IsZero() {
		t.Errorf("%s: %v", version, item)
	}
}

func TestMetricOfAnObjectIsExactlyOne(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		item, err := client(t, server(t, true), version).NamespacedMetrics("a").
			GetForObject(serving, "m", "kv_pressure", labels.Everything())
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		expectItem(t, version, *item, 1425)
		if item.DescribedObject.APIVersion != "serving.kantha.dev/v1alpha1" {
			t.Errorf("%s: %v", version, item.DescribedObject)
		}
	}
}

func TestNoPodIsAnEmptyListAndNoMetricIsNotFound(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		metrics := client(t, server(t, true), version).NamespacedMetrics("a")
		selector, _ := labels.Parse("x")
		list, err := metrics.GetForObjects(pod, selector, "kv_pressure", labels.Everything())
		if err != nil || len(list.Items) != 0 {
			t.Errorf("%s: %v, %v", version, list, err)
		}
		_, err = metrics.GetForObjects(pod, labels.Everything(), "no_such_metric", labels.Everything())
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s: expected NotFound, got %v", version, err)
		}
	}
}

func TestDiscoveryBothWaysPrefersTheNewVersion(t *testing.T) {
	for _, withAggregated := range []bool{true, false} {
		found, err := discovery.NewDiscoveryClientForConfig(server(t, withAggregated))
		if err != nil {
			t.Fatal(err)
		}
		version, err := customclient.NewAvailableAPIsGetter(found).PreferredVersion()
		if err != nil || version.Version != "v1beta2" {
			t.Errorf("aggregated %v: %v, %v", withAggregated, version, err)
		}
		_, lists, err := found.ServerGroupsAndResources()
		if err != nil || len(lists) != 2 {
			t.Fatalf("aggregated %v: %d lists, %v", withAggregated, len(lists), err)
		}
		names := map[string]bool{}
		for _, resource := range lists[0].APIResources {
			names[resource.Name] = resource.Namespaced && resource.Kind == "MetricValueList"
		}
		for _, name := range []string{"pods/kv_pressure",
			"modelservings.serving.kantha.dev/queued_tokens"} {
			if !names[name] {
				t.Errorf("aggregated %v: no %s in %v", withAggregated, name, names)
			}
		}
	}
}

// The client with which an HPA asks for metrics of type External.
func TestExternalMetrics(t *testing.T) {
	client, err := externalclient.NewForConfig(server(t, true))
	if err != nil {
		t.Fatal(err)
	}
	metrics := client.NamespacedMetrics("a")
	ours, _ := labels.Parse("serving.kantha.dev/name=m")
	list, err := metrics.List("kv_pressure", ours)
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	item := list.Items[0]
	if item.MetricName != "kv_pressure" || item.Value.MilliValue() != 2850 ||
		item.Timestamp.IsZero() || !ours.Matches(labels.Set(item.MetricLabels)) {
		t.Errorf("%v", item)
	}
	others, _ := labels.Parse("x")
	if list, err = metrics.List("kv_pressure", others); err != nil || len(list.Items) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err = metrics.List("no_such_metric", ours); !apierrors.IsNotFound(err) {
		t.Errorf("expected NotFound, got %v", err)
	}
}
